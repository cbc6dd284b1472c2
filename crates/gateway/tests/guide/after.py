from flask import Flask, request, jsonify
import json

app = Flask(__name__)

@app.route('/agent', methods=['POST'])
def handle_jsonrpc():
    data = request.json
    
    # Validate JSON-RPC structure
    if data.get('jsonrpc') != '2.0':
        return jsonify({
            'jsonrpc': '2.0',
            'id': data.get('id'),
            'error': {
                'code': -32600,
                'message': 'Invalid Request: jsonrpc must be 2.0'
            }
        }), 400
    
    if data.get('method') != 'message/send':
        return jsonify({
            'jsonrpc': '2.0',
            'id': data.get('id'),
            'error': {
                'code': -32601,
                'message': f'Method not found: {data.get("method")}'
            }
        }), 400
    
    task_id = data['id']
    
    try:
        # Extract input from message parts
        message = data['params']['message']
        parts = message['parts']
        
        # Get text from first part and parse as JSON
        input_text = parts[0]['text']
        try:
            input_data = json.loads(input_text)
        except json.JSONDecodeError:
            input_data = {'text': input_text}
        
        # Process the task
        result = process_task(input_data)
        
        # Build JSON-RPC response
        return jsonify({
            'jsonrpc': '2.0',
            'id': task_id,
            'result': {
                'status': {
                    'state': 'completed'
                },
                'artifacts': [
                    {
                        'parts': [
                            {
                                'kind': 'text',
                                'text': json.dumps(result) if isinstance(result, dict) else str(result)
                            }
                        ]
                    }
                ],
                'history': [
                    {
                        'role': 'user',
                        'parts': [{'kind': 'text', 'text': input_text}]
                    },
                    {
                        'role': 'agent',
                        'parts': [{'kind': 'text', 'text': json.dumps(result)}]
                    }
                ]
            }
        })
    
    except Exception as e:
        return jsonify({
            'jsonrpc': '2.0',
            'id': task_id,
            'error': {
                'code': -32603,
                'message': f'Internal error: {str(e)}'
            }
        }), 500

def process_task(input_data):
    query = input_data.get('query', '')
    # Your processing logic here
    return {'result': f'Processed: {query}'}

if __name__ == '__main__':
    app.run(port=8080)
