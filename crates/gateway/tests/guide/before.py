from flask import Flask, request, jsonify

app = Flask(__name__)

@app.route('/agent', methods=['POST'])
def handle_task():
    data = request.json
    task_id = data['task_id']
    input_data = data['input']
    
    try:
        # Process the task
        result = process_task(input_data)
        
        return jsonify({
            'task_id': task_id,
            'status': 'success',
            'output': result,
            'error': None
        })
    except Exception as e:
        return jsonify({
            'task_id': task_id,
            'status': 'error',
            'output': None,
            'error': str(e)
        }), 500

def process_task(input_data):
    query = input_data.get('query', '')
    # Your processing logic here
    return {'result': f'Processed: {query}'}

if __name__ == '__main__':
    app.run(port=8080)
